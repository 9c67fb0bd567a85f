-- Tokens stop working while the person who created them is disabled.

alter table token add created_by bigint references person;  -- null: an operator in a terminal
create index token_created_by on token (created_by);
