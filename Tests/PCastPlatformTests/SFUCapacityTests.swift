import PCastCore
import PCastSFU
import Testing

@testable import PCastPlatform

/// The assignment of streams and viewers to shards.
struct SFUCapacityTests {
    private static let stream = StreamID("film")
    private static func peer(_ number: Int) -> PeerID { PeerID(UInt64(number)) }

    @Test("streams are distributed, and a few viewers stay on the shard of their stream")
    func few() throws {
        var places = SFUCapacity(shards: 3, maximumPeers: 1_000)
        for number in 0..<6 {
            #expect(try places.enter(Self.peer(number), publishing: StreamID("\(number)")) == number % 3)
        }
        for number in 0..<30 {
            let place = try places.enter(Self.peer(100 + number), viewing: StreamID("1"))
            #expect(place.shard == 1 && place.publisherShard == 1)
        }
    }

    @Test("many viewers of one stream are distributed among all shards")
    func many() throws {
        var places = SFUCapacity(shards: 4, maximumPeers: 2_000)
        let publisherShard = try places.enter(Self.peer(0), publishing: Self.stream)
        for number in 1...1_000 {
            #expect(try places.enter(Self.peer(number), viewing: Self.stream).publisherShard == publisherShard)
        }
        #expect(places.loads.reduce(0, +) == 1_001)
        #expect((places.loads.max() ?? 0) - (places.loads.min() ?? 0) <= 33)
        for number in 1...1_000 { places.leave(Self.peer(number)) }
        #expect(places.loads.reduce(0, +) == 1)
    }

    @Test("a stream that is published again stays on its shard, whenever its first publisher's end is reported")
    func again() throws {
        var places = SFUCapacity(shards: 2, maximumPeers: 10)
        let first = try places.enter(Self.peer(0), publishing: Self.stream)
        _ = try places.enter(Self.peer(1), publishing: StreamID("other"))
        let second = try places.enter(Self.peer(2), publishing: Self.stream)
        places.noteStream(of: Self.peer(2))
        #expect(first == second)
        places.leave(Self.peer(0))
        #expect(try places.enter(Self.peer(3), viewing: Self.stream).publisherShard == first)
        places.leave(Self.peer(2))
        #expect(throws: SFUError.unknownStream(Self.stream)) {
            try places.enter(Self.peer(4), viewing: Self.stream)
        }
        #expect(places.shard(of: Self.peer(4)) == nil)
    }

    @Test("a publisher that is rejected because the stream exists does not move that stream")
    func taken() throws {
        var places = SFUCapacity(shards: 2, maximumPeers: 10)
        let first = try places.enter(Self.peer(0), publishing: Self.stream)
        places.noteStream(of: Self.peer(0))
        #expect(try places.enter(Self.peer(1), publishing: Self.stream) == first)
        places.leave(Self.peer(1))
        #expect(try places.enter(Self.peer(2), viewing: Self.stream).publisherShard == first)
    }

    @Test("all shards together can be full")
    func full() throws {
        var places = SFUCapacity(shards: 2, maximumPeers: 2)
        _ = try places.enter(Self.peer(0), publishing: Self.stream)
        _ = try places.enter(Self.peer(1), viewing: Self.stream)
        #expect(throws: SFUError.full) { try places.enter(Self.peer(2), viewing: Self.stream) }
        places.leave(Self.peer(1))
        _ = try places.enter(Self.peer(2), viewing: Self.stream)
    }

    @Test("publishers of a group are on one shard, whatever the loads are") func groups() throws {
        var capacity = SFUCapacity(shards: 4, maximumPeers: 100)
        var shards: Set<Int> = []
        for number in 0..<20 {
            let stream = StreamID("stream-\(number)")
            shards.insert(try capacity.enter(PeerID(UInt64(number)), publishing: stream, group: "show"))
        }
        #expect(shards.count == 1)
        let other = try capacity.enter(PeerID(100), publishing: StreamID("other"))
        #expect(!shards.contains(other))
        #expect(capacity.shard(of: StreamID("stream-3")) == shards.first)
    }
}
