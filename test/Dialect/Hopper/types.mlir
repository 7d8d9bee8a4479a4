// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

// CHECK: func.func private @map(!hopper.map<128x64xbf16>, !hopper.map<80x72xf16>)
func.func private @map(!hopper.map<128x64xbf16>, !hopper.map<80x72xf16>)

// A tile of all rows does not say so.
// CHECK: func.func private @tile(!hopper.tile<128x64xbf16>, !hopper.tile<64x64xf16, of 192>, !hopper.tile<64x256xbf16>)
func.func private @tile(!hopper.tile<128x64xbf16>, !hopper.tile<64x64xf16, of 192>, !hopper.tile<64x256xbf16, of 64>)

// CHECK: func.func private @channel(!hopper.channel<1x128x64xbf16>, !hopper.channel<2x16x128xf16>, !hopper.channel<4x80x8xbf16>)
func.func private @channel(!hopper.channel<1x128x64xbf16>, !hopper.channel<2x16x128xf16>, !hopper.channel<4x80x8xbf16>)

// CHECK: func.func private @others(!hopper.pending<vector<128x64xf32>>, !hopper.work_queue<3>, !hopper.ping_pong)
func.func private @others(!hopper.pending<vector<128x64xf32>>, !hopper.work_queue<3>, !hopper.ping_pong)

// CHECK: func.func private @order(memref<?x80x128xf32, #hopper.fragment_order<m = 2, n = 1>>, memref<64x8xf32, #hopper.fragment_order<m = 0, n = 1>>)
func.func private @order(memref<?x80x128xf32, #hopper.fragment_order<m = 2, n = 1>>, memref<64x8xf32, #hopper.fragment_order<m = 0, n = 1>>)

// Chunks of 64 columns do not say so.
// CHECK: func.func private @chunks(!hopper.tile<64x96xbf16, of 128, chunks of 48>, !hopper.tile<64x96xbf16>, !hopper.channel<1x128x96xf16, chunks of 48>, !hopper.channel<1x128x96xf16, payload, chunks of 16>)
func.func private @chunks(!hopper.tile<64x96xbf16, of 128, chunks of 48>, !hopper.tile<64x96xbf16, chunks of 64>, !hopper.channel<1x128x96xf16, chunks of 48>, !hopper.channel<1x128x96xf16, payload, chunks of 16>)
