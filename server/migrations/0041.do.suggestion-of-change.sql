-- The suggestion that an editor accepted with a change. Apart from the tables of suggestions (0028),
-- which lock video: one step that locks both would meet writers that have the other.
alter table change add column suggestion_id bigint;
