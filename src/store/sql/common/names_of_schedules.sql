SELECT schedule.id, schedule.name
FROM schedule
ORDER BY schedule.id
