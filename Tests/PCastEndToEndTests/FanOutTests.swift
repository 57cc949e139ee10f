import Foundation
import Testing

extension EndToEnd {
    /// The measurements of fan-out in their shortest form: what they find is right, however long it took.
    @Suite("Measurements of fan-out")
    struct FanOutTests {
        /// Runs one to its end; a missed target is no failure here.
        private static func result(of name: String, _ arguments: [String], in place: TestWorkspace) async throws -> JSON
        {
            let program = try place.start(
                BuiltProgram.path("pcast-bench"), [name, "--json"] + arguments)
            let status = try await program.exitStatus(within: .longestRun + .seconds(20))
            guard status <= 1, let result = program.events("result").first else {
                throw EndToEndFailure("\(name) exited with \(status)\n\(program.report)")
            }
            for line in program.output.lines.values {
                #expect(JSON(line: line) != nil, "each line is an object: \(line)")
            }
            return result
        }

        @Test("Every viewer gets all packets in order, and all of them are authentic", .timeLimit(.minutes(5)))
        func fanOut() async throws {
            try await TestWorkspace.run { place in
                let result = try await Self.result(
                    of: "fanout",
                    [
                        "--viewers", "6", "--rounds", "1", "--seconds", "1", "--source",
                        "\(BuiltProgram.repository)/scripts/fanout-limit.c",
                    ],
                    in: place)
                #expect(result["missing"].number == 0)
                #expect(result["unauthentic"].number == 0)
                #expect(result["relayPerPacket"].number ?? 0 > 0)
                // The program in C encrypts what viewers can read, and all of it arrives.
                #expect(result["evpPerPacket"].number ?? 0 > 0)
                #expect(result["missingOfC"].number == 0)
                #expect(result["unauthenticOfC"].number == 0)
                #expect(result["bytesPerPacket"].number ?? 0 > 1_000)
            }
        }

        @Test("Many who come at once all get a picture, and who was there misses none", .timeLimit(.minutes(5)))
        func joinStorm() async throws {
            try await TestWorkspace.run { place in
                let result = try await Self.result(of: "join-storm", ["--viewers", "12"], in: place)
                #expect(result["withoutPicture"].number == 0)
                #expect(result["packetsMissedBefore"].number == 0)
                #expect(result["firstPictureP99"].number ?? 0 > 0)
            }
        }

        @Test("A meeting loses nothing, and idle viewers are counted", .timeLimit(.minutes(5)))
        func meetingAndSilence() async throws {
            try await TestWorkspace.run { place in
                let meeting = try await Self.result(
                    of: "meeting", ["--publishers", "3", "--viewers", "2", "--seconds", "1"], in: place)
                #expect(meeting["missing"].number == 0)
                #expect(meeting["unauthentic"].number == 0)
                #expect(meeting["packets"].number ?? 0 > 0)
                let idle = try await Self.result(of: "idle", ["--viewers", "12", "--seconds", "1"], in: place)
                #expect(idle["missing"].number == 0)
                #expect(idle["idleWakeUpsPerSecond"].number != nil)
            }
        }

        @Test("Who decrypts one packet of four misses none of the others", .timeLimit(.minutes(5)))
        func sample() async throws {
            try await TestWorkspace.run { place in
                let result = try await Self.result(
                    of: "relay-latency", ["--streams", "2", "--viewers", "8", "--seconds", "1"], in: place)
                #expect(result["missing"].number == 0)
                #expect(result["idle"].number == 0)
                #expect(result["delayP99"].number ?? 0 > 0)
            }
        }

        @Test("Light viewers of a stream with sound have both", .timeLimit(.minutes(5)))
        func sound() async throws {
            try await TestWorkspace.run { place in
                let platform = try await LocalPlatform.start(in: place)
                let publisher = try place.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(), "--video", "synthetic", "--audio", "synthetic", "--size",
                    "320x180")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                try await platform.startLightViewers(3, of: stream).end(by: SIGINT)
            }
        }

        @Test("Viewers of one stream at several shards miss nothing", .timeLimit(.minutes(5)))
        func shards() async throws {
            try await TestWorkspace.run { place in
                let result = try await Self.result(
                    of: "shards", ["--viewers", "90", "--shards", "3", "--rounds", "1", "--seconds", "1"], in: place)
                #expect(result["missing"].number == 0)
                #expect(result["unauthentic"].number == 0)
                #expect(result["idle"].number == 0)
                #expect(result["severalPerPacket"].number ?? 0 > 0)
            }
        }

        @Test("Viewers who read nothing are sent everything, by one shard and by two", .timeLimit(.minutes(5)))
        func scaling() async throws {
            try await TestWorkspace.run { place in
                // What was not forwarded is a failure of the measurement.
                let result = try await Self.result(
                    of: "scaling",
                    [
                        "--viewers", "100", "--shards", "2", "--rounds", "1", "--seconds", "1", "--source",
                        "\(BuiltProgram.repository)/scripts/fanout-limit.c",
                    ],
                    in: place)
                #expect(result["gain"].number ?? 0 > 0)
                #expect(result["gainOfC"].number ?? 0 > 0)
            }
        }

        @Test("Numbers and times go round without a packet lost", .timeLimit(.minutes(10)))
        func soak() async throws {
            try await TestWorkspace.run { place in
                let minutes = ThisMachine.isFull ? "2" : "0.05"
                let result = try await Self.result(of: "soak", ["--viewers", "4", "--minutes", minutes], in: place)
                #expect(result["missing"].number == 0)
                #expect(result["unauthentic"].number == 0)
                #expect(result["memoryGrowth"].number != nil)
            }
        }
    }
}
