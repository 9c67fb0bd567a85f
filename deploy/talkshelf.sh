#!/bin/sh
# Runs a command of Talkshelf with the database and the settings of the systemd unit, as root:
# install it as /usr/local/sbin/talkshelf (docs/install/systemd.md). It reads talkshelf.env as a
# shell does: put values with spaces or $ in single quotes.
set -eu
PATH=/opt/talkshelf/node_modules/.bin:$PATH
if [ -e /etc/talkshelf/talkshelf.env ]; then
  set -a
  . /etc/talkshelf/talkshelf.env
  set +a
fi
export PATH DATABASE_URL_FILE=/etc/talkshelf/database-url
# Secrets that the unit of a cluster gets as credentials.
if [ -e /etc/talkshelf/edge-token ]; then export EDGE_TOKEN_FILE=/etc/talkshelf/edge-token; fi
if [ -e /etc/talkshelf/webhook-key ]; then export WEBHOOK_KEY_FILE=/etc/talkshelf/webhook-key; fi
exec /opt/talkshelf/node_modules/.bin/talkshelf "$@"
