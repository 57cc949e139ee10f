import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastPlatform

@Suite("Processes that transcode the audio of publishers", .timeLimit(.minutes(2)))
struct AudioTranscodingTests {
    private static let application = ApplicationID("one")
    private static let other = ApplicationID("other")

    private static func packet(_ stream: UInt32, _ bytes: [UInt8], at time: Int64 = 960) -> [UInt8] {
        TranscodingMessage(
            .packet, of: stream, time: time, captureTime: WallTime(nanosecondsSinceEpoch: 5), bytes: bytes
        ).encoded
    }

    @Test("streams of one application share processes, and a process ends with its last stream")
    func sharing() throws {
        let pool = AudioTranscodingPool(AudioTranscodingConfiguration(program: "/bin/cat", arguments: []))
        var transcodings: [AudioTranscoding] = []
        for index in 0...TranscodedStreams.capacity {
            transcodings.append(
                try pool.begin(for: Self.application, configuration: [0x11, UInt8(index)], onPacket: { _ in }))
        }
        #expect(pool.processCount(of: Self.application) == 2)
        let separate = try pool.begin(for: Self.other, configuration: [0x11, 0x90], onPacket: { _ in })
        #expect(pool.processCount(of: Self.other) == 1)
        #expect(transcodings.allSatisfy { $0.process !== separate.process })
        // A place that becomes free is used again.
        transcodings[0].close()
        transcodings[0].close()
        #expect(pool.processCount(of: Self.application) == 2)
        let next = try pool.begin(for: Self.application, configuration: [0x11, 0x90], onPacket: { _ in })
        #expect(next.process === transcodings[1].process)
        for transcoding in transcodings { transcoding.close() }
        #expect(pool.processCount(of: Self.application) == 1)
        next.close()
        separate.close()
        #expect(pool.processCount(of: Self.application) == 0 && pool.processCount(of: Self.other) == 0)
    }

    @Test("further streams do not join a process that was started again")
    func crashes() async throws {
        // It ends after its first message.
        let pool = AudioTranscodingPool(
            AudioTranscodingConfiguration(program: "/bin/dd", arguments: ["bs=65536", "count=1"]))
        let first = try pool.begin(for: Self.application, configuration: [0x11, 0x90], onPacket: { _ in })
        #expect(try await eventually { first.process.wasRestarted })
        let second = try pool.begin(for: Self.application, configuration: [0x11, 0x90], onPacket: { _ in })
        #expect(second.process !== first.process)
        #expect(pool.processCount(of: Self.application) == 2)
        first.close()
        second.close()
        #expect(pool.processCount(of: Self.application) == 0)
    }

    @Test("a process receives the configurations of its streams at its start, and each packet belongs to one stream")
    func streams() throws {
        let streams = TranscodedStreams()
        let received = Mutex<[String: [EncodedFrame]]>([:])
        func add(_ name: String, _ configuration: [UInt8]) throws -> UInt32 {
            try #require(
                streams.add(
                    .init(configuration: configuration) { packet in
                        received.withLock { $0[name, default: []].append(packet) }
                    }))
        }
        let first = try add("first", [1])
        let second = try add("second", [2])
        streams.setConfiguration([3], of: second)
        #expect(Set(streams.configurations) == [.configuration([1], of: first), .configuration([3], of: second)])
        streams.receive(Self.packet(first, [7, 7], at: 48_000))
        streams.receive(Self.packet(second, [8]))
        streams.receive(Self.packet(second &+ 1, [9]))
        streams.receive(TranscodingMessage.configuration([1], of: first).encoded)
        streams.receive([])
        #expect(received.withLock { $0.mapValues { $0.map(\.bytes) } } == ["first": [[7, 7]], "second": [[8]]])
        let packet = try #require(received.withLock { $0["first"]?.first })
        #expect(packet.codec == .opus && packet.timestamp == MediaTime(ticks: 48_000, rate: .opus))
        #expect(packet.captureTime == WallTime(nanosecondsSinceEpoch: 5))
        #expect(!streams.remove(first))
        streams.receive(Self.packet(first, [7]))
        #expect(received.withLock { $0["first"]?.count } == 1)
        #expect(streams.remove(second))
        #expect(streams.configurations.isEmpty)
    }

    @Test("a process has a limited number of streams, and numbers are not used again")
    func limit() {
        let streams = TranscodedStreams()
        let numbers = (0..<TranscodedStreams.capacity).compactMap { _ in
            streams.add(.init(configuration: [], onPacket: { _ in }))
        }
        #expect(Set(numbers).count == TranscodedStreams.capacity)
        #expect(streams.add(.init(configuration: [], onPacket: { _ in })) == nil)
        #expect(!streams.remove(numbers[0]))
        let next = streams.add(.init(configuration: [], onPacket: { _ in }))
        #expect(next.map { !numbers.contains($0) } == true)
    }

    @Test("a publisher may send some seconds of audio at once, and then several times as much as an encoder sends")
    func allowance() {
        var now = Instant(nanoseconds: 1_000_000_000)
        var allowance = TranscodingAllowance(at: now)
        func admitted(_ count: Int, of size: Int) -> Int {
            var admitted = 0
            for _ in 0..<count where allowance.admitsFrame(of: size, at: now) { admitted += 1 }
            return admitted
        }
        let first = admitted(1_000, of: 400)
        #expect(first == 256)
        // Encoders with the shortest frames.
        var regular = 0
        for _ in 0..<1_000 {
            now += .milliseconds(5)
            regular += admitted(1, of: 400)
        }
        #expect(regular == 1_000)
        // A publisher that sends as fast as possible, for a second.
        var fast = 0
        for _ in 0..<10_000 {
            now += .microseconds(100)
            fast += admitted(5, of: 400)
        }
        #expect((400...600).contains(fast))
        // The allowance does not exceed its maximum after a pause.
        now += .seconds(60 as Int64)
        let large = admitted(1_000, of: 60_000)
        #expect(large == 9)
        now += .seconds(60 as Int64)
        var configurations = 0
        for _ in 0..<100 where allowance.admitsConfiguration(at: now) { configurations += 1 }
        #expect(configurations == 16)
        let last = admitted(1, of: 1)
        #expect(last == 0)
    }
}
