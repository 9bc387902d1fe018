#!/bin/sh
# The command of the image. It serves the configuration in /config, else the one in /data, which its first start writes.
set -eu
for file in /config/webhooks.* /data/webhooks.*; do
  [ -f "$file" ] && exec hookline serve --host 0.0.0.0 --config "$file"
done
hookline init --yes --config /data/webhooks.jsonc >/dev/null
echo "A first configuration is in /data/webhooks.jsonc. Logs are kept, so its tokens are not shown here. Read them with:"
echo "  docker exec $(hostname) cat /data/.webhooks/gateway-token"
echo "  docker exec $(hostname) cat /data/.webhooks/hook-token"
exec hookline serve --host 0.0.0.0 --config /data/webhooks.jsonc
