INSERT INTO asset_event (asset, biz_date, ready_at, source) VALUES ($1, $2, $3, $4)
