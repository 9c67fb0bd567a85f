#!/bin/sh
# Creates the role and the database of Talkshelf. Patroni runs it once, in a new cluster.
set -eu
psql --quiet --set=ON_ERROR_STOP=1 "$1" <<'SQL'
create role talkshelf login password '@password_talkshelf@';
-- For `talkshelf doctor`, and for replicas: who follows the leader.
grant pg_read_all_stats to talkshelf;
create database talkshelf owner talkshelf encoding 'UTF8' locale 'C.UTF-8' template template0;
SQL
