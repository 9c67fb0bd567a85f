-- Replaced by the index of words (0033).
drop index concurrently if exists speaker_name_trigrams;
