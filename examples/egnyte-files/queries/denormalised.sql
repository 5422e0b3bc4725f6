-- Denormalised: the file's row has it all.
SELECT folders.path, files.name, files.file_id, files.latest_size, files.latest_hash
FROM files
JOIN folders ON folders.folder_id = files.folder_id
WHERE files.tenant_id = ? AND files.latest_version_id IS NOT NULL
