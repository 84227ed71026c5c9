-- 0038_config_file - the files that belong to a version: scripts, style sheets, schemas.

-- Contents, each once, by their SHA-256; versions share them.
CREATE TABLE IF NOT EXISTS config_blob(sha256 @BYTES@ PRIMARY KEY, bytes @BYTES@ NOT NULL) @PLAIN@;

-- path: as the configuration spells it.
CREATE TABLE IF NOT EXISTS config_file(
    version @INT@ NOT NULL, path TEXT NOT NULL, sha256 @BYTES@ NOT NULL, size @INT@ NOT NULL,
    PRIMARY KEY(version, path)) @CLUSTERED@;
