SELECT run.state, place.note, count(*)
FROM backfill_run AS place
LEFT JOIN run ON run.id = place.run_id
WHERE place.backfill_id = $1
GROUP BY run.state, place.note
