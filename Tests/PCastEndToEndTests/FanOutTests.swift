import Foundation
import Testing

extension EndToEnd {
    /// Short measurements of fan-out. Their results must be correct, however long they take.
    @Suite("Measurements of fan-out")
    struct FanOutTests {
        /// Runs a measurement to its end. A missed target is not a failure here. A measurement in which the load generator itself
        /// has lost datagrams, as on a busy machine, says nothing about the platform, and is repeated.
        private static func result(of name: String, _ arguments: [String], in workspace: TestWorkspace) async throws
            -> JSON
        {
            var attempts = 3
            while true {
                let program = try workspace.start(
                    BuiltProgram.path("pcast-bench"), [name, "--json"] + arguments)
                let status = try await program.exitStatus(within: .longestRun + .seconds(20))
                guard status <= 1, let result = program.events("result").first else {
                    throw EndToEndFailure("\(name) exited with \(status)\n\(program.report)")
                }
                for line in program.output.lines.values {
                    #expect(JSON(line: line) != nil, "a line is not a JSON object: \(line)")
                }
                attempts -= 1
                let isVoid = program.events("row").contains { ($0["ownDrops"].number ?? 0) > 0 }
                if !isVoid || attempts == 0 { return result }
                print("\(name): the load generator has lost datagrams")
            }
        }

        @Test("every viewer receives all packets in order, and all are authentic", .timeLimit(.minutes(5)))
        func fanOut() async throws {
            try await TestWorkspace.run { workspace in
                let result = try await Self.result(
                    of: "fanout",
                    [
                        "--viewers", "6", "--rounds", "1", "--seconds", "1", "--source",
                        "\(BuiltProgram.repository)/scripts/fanout-limit.c",
                    ],
                    in: workspace)
                #expect(result["missing"].number == 0)
                #expect(result["unauthentic"].number == 0)
                #expect(result["relayPerPacket"].number ?? 0 > 0)
                // The C program encrypts packets that viewers can read, and all of them arrive.
                #expect(result["evpPerPacket"].number ?? 0 > 0)
                #expect(result["missingOfC"].number == 0)
                #expect(result["unauthenticOfC"].number == 0)
                #expect(result["bytesPerPacket"].number ?? 0 > 1_000)
            }
        }

        @Test("many simultaneous viewers all receive video, and existing viewers miss nothing", .timeLimit(.minutes(5)))
        func joinStorm() async throws {
            try await TestWorkspace.run { workspace in
                let result = try await Self.result(of: "join-storm", ["--viewers", "12"], in: workspace)
                #expect(result["withoutVideo"].number == 0)
                #expect(result["packetsMissedBefore"].number == 0)
                #expect(result["firstFrameP99"].number ?? 0 > 0)
            }
        }

        @Test("a meeting loses no packets, and idle viewers are counted", .timeLimit(.minutes(5)))
        func meetingAndSilence() async throws {
            try await TestWorkspace.run { workspace in
                let meeting = try await Self.result(
                    of: "meeting", ["--publishers", "3", "--viewers", "2", "--seconds", "1"], in: workspace)
                #expect(meeting["missing"].number == 0)
                #expect(meeting["unauthentic"].number == 0)
                #expect(meeting["packets"].number ?? 0 > 0)
                let idle = try await Self.result(of: "idle", ["--viewers", "12", "--seconds", "1"], in: workspace)
                #expect(idle["missing"].number == 0)
                #expect(idle["idleWakeUpsPerSecond"].number != nil)
            }
        }

        @Test("a viewer that decrypts one packet of four misses none of the others", .timeLimit(.minutes(5)))
        func sample() async throws {
            try await TestWorkspace.run { workspace in
                let result = try await Self.result(
                    of: "relay-latency", ["--streams", "2", "--viewers", "8", "--seconds", "1"], in: workspace)
                #expect(result["missing"].number == 0)
                #expect(result["idle"].number == 0)
                #expect(result["delayP99"].number ?? 0 > 0)
            }
        }

        @Test("light viewers of a stream with audio receive both tracks", .timeLimit(.minutes(5)))
        func audio() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(), "--video", "synthetic", "--audio", "synthetic", "--size",
                    "320x180")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                // They are started when each has received both tracks; otherwise `pcast-bench` fails.
                let viewers = try await platform.startLightViewers(3, of: stream)
                try await viewers.end(by: SIGINT)
                let row = try #require(viewers.events("row").first)
                #expect(row["lightMissing"].number == 0)
                #expect(row["lightReordered"].number == 0)
            }
        }

        @Test("viewers of one stream on several shards miss nothing", .timeLimit(.minutes(5)))
        func shards() async throws {
            try await TestWorkspace.run { workspace in
                let result = try await Self.result(
                    of: "shards", ["--viewers", "90", "--shards", "3", "--rounds", "1", "--seconds", "1"], in: workspace
                )
                #expect(result["missing"].number == 0)
                #expect(result["unauthentic"].number == 0)
                #expect(result["idle"].number == 0)
                #expect(result["severalPerPacket"].number ?? 0 > 0)
            }
        }

        @Test("viewers that do not read are sent everything, by one shard and by two", .timeLimit(.minutes(5)))
        func scaling() async throws {
            try await TestWorkspace.run { workspace in
                // Packets that were not forwarded make the measurement fail.
                let result = try await Self.result(
                    of: "scaling",
                    [
                        "--viewers", "100", "--shards", "2", "--rounds", "1", "--seconds", "1", "--source",
                        "\(BuiltProgram.repository)/scripts/fanout-limit.c",
                    ],
                    in: workspace)
                #expect(result["gain"].number ?? 0 > 0)
                #expect(result["gainOfC"].number ?? 0 > 0)
            }
        }

        @Test("sequence numbers and timestamps wrap around without a lost packet", .timeLimit(.minutes(10)))
        func soak() async throws {
            try await TestWorkspace.run { workspace in
                let minutes = ThisMachine.isFull ? "2" : "0.05"
                let result = try await Self.result(of: "soak", ["--viewers", "4", "--minutes", minutes], in: workspace)
                #expect(result["packets"].number ?? 0 > 0)
                #expect(result["idle"].number == 0)
                #expect(result["missing"].number == 0)
                #expect(result["unauthentic"].number == 0)
                #expect(result["memoryGrowth"].number != nil)
            }
        }
    }
}
