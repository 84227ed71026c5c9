-- 0032_piece_days - pieces of large payloads lie in tables of days, as small payloads do (store/payload/payload_days.h).

-- only: postgresql
ALTER TABLE IF EXISTS payload_piece RENAME TO payload_piece_0;
-- Numbers of uploads; with their day they are negative (store/payload/payload.h).
CREATE SEQUENCE IF NOT EXISTS payload_upload_number;
-- end
