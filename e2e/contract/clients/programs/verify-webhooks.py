"""Verifies recorded webhook deliveries with the package standardwebhooks of PyPI."""

import json
import os

from standardwebhooks import Webhook, WebhookVerificationError

with open(os.environ["MARINA_WEBHOOK_DELIVERIES"]) as file:
    cases = json.load(file)

for case in cases:
    try:
        Webhook(case["secret"]).verify(case["body"], case["headers"])
        accepted = True
    except WebhookVerificationError:
        accepted = False
    if accepted != case["valid"]:
        raise SystemExit(f"{case['name']}: accepted is {accepted}")
    print(f"{case['name']}: {'accepted' if accepted else 'refused'}")
