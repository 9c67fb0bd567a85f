-- Links that a person asks for by mail work in the browser that asked, or with its code.

alter table one_time_token add browser_hash bytea;  -- SHA-256 of a cookie; null: an invitation
