SELECT place.ordinal, place.run_id, place.note, run.state
FROM backfill_run AS place
LEFT JOIN run ON run.id = place.run_id
WHERE place.backfill_id = $1
ORDER BY place.ordinal
