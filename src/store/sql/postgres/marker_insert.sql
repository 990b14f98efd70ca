INSERT INTO mainspring ("only", application, version, deployment) VALUES (1, $1, $2, $3)
