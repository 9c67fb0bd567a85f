-- Other copies and recordings of several talks are facts. Apart from the tables of sources (0044),
-- which lock video: one step that locks both would meet writers that have the other.
create trigger refresh_sources_of_facts
  after insert or update of facts or delete on video_facts
  for each row execute function refresh_sources_of_facts();
