# The protocol as an editor speaks it, with headers.
# RUN: %python %s > %t.in
# RUN: attn-lsp-server < %t.in 2> %t.log | FileCheck %s
# CHECK: Content-Length: {{[0-9]+}}
# CHECK: {"id":0,"jsonrpc":"2.0","result":{"capabilities":{
# CHECK: {"id":1,"jsonrpc":"2.0","result":null}

# An exit without a shutdown before it is an error, by the protocol.
# RUN: %python %s exit-only > %t.exit
# RUN: not attn-lsp-server < %t.exit 2> %t.log

import json
import sys

MESSAGES = [
    {
        "id": 0,
        "method": "initialize",
        "params": {"processId": None, "rootUri": None, "capabilities": {}},
    },
    {"id": 1, "method": "shutdown"},
    {"method": "exit"},
]

for message in MESSAGES[2:] if "exit-only" in sys.argv else MESSAGES:
    text = json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(f"Content-Length: {len(text)}\r\n\r\n{text}")
