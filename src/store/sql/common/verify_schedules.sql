SELECT id, watermark_at FROM schedule ORDER BY id
