ALTER TABLE {{table}} ATTACH PARTITION {{table}}_{{month}} FOR VALUES FROM ({{from}}) TO ({{until}})
