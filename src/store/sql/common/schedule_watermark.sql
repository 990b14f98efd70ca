UPDATE schedule SET watermark_at = $1 WHERE id = $2 AND watermark_at = $3 AND updated_at = $4
