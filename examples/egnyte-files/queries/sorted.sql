-- Normalised: all versions of the tenant; the application keeps the highest version_no (the last column) of each file.
SELECT folders.path, files.name, files.file_id, versions.size, versions.hash, versions.version_no
FROM versions
JOIN files ON files.file_id = versions.file_id
JOIN folders ON folders.folder_id = files.folder_id
WHERE versions.tenant_id = ? AND versions.deleted_at IS NULL
