import PCastCore
import PCastEdgeAuth
import Synchronization
import Testing

@testable import PCast

struct LayeredPublishingTests {
    /// The values that a listener received, in order.
    private final class Told: Sendable {
        private let received = Mutex<[Bitrate?]>([])
        var values: [Bitrate?] { received.withLock { $0 } }
        func add(_ bitrate: Bitrate?) { received.withLock { $0.append(bitrate) } }
    }

    @Test("a stream token for layers requests three layers, and any other or none requests one")
    func capability() throws {
        let builder = EdgeTokenBuilder().withApplicationId("studio").withSecret("not-so-secret")
            .expiresAt(milliseconds: 1_000)
        let granted = try builder.withCapability("real-time").withCapability("multi-bitrate-contribution").build()
        #expect(TokenCapabilities(token: granted).layers == 3)
        let plain = try builder.build()
        #expect(TokenCapabilities(token: plain).layers == 1)
        #expect(TokenCapabilities(token: "").layers == 1)
        #expect(TokenCapabilities(token: "DIGEST:nonsense").layers == 1)
    }

    @Test("the lowest of several limits applies, and each ends with its object")
    func limits() {
        let received = Told()
        let limits = BandwidthLimits { received.add($0) }
        var first: BandwidthLimit? = limits.add(.kilobits(500))
        var second: BandwidthLimit? = limits.add(.kilobits(300))
        #expect(first?.bitrate == .kilobits(500) && second?.bitrate == .kilobits(300))
        second = nil
        #expect(received.values == [.kilobits(500), .kilobits(300), .kilobits(500)])
        first = nil
        #expect(received.values == [.kilobits(500), .kilobits(300), .kilobits(500), nil])
    }
}

@Suite struct BandwidthAllocationTests {
    private static let layers = [
        BandwidthAllocation.Layer(least: .kilobits(100), most: .kilobits(350)),
        BandwidthAllocation.Layer(least: .kilobits(300), most: .kilobits(830)),
        BandwidthAllocation.Layer(least: .kilobits(700), most: .kilobits(1_600)),
    ]

    private func shares(_ total: Int64, audio: Int64? = 64) -> [Int64] {
        BandwidthAllocation.divide(
            .kilobits(total), audio: audio.map { .kilobits($0) }, layers: Self.layers
        ).map { $0.bitsPerSecond / 1000 }
    }

    @Test("audio and its overhead have priority")
    func audio() {
        #expect(shares(90)[0] == 0)
        // Audio has 64 and 28.8 kbit/s.
        #expect((95...100).contains(shares(200)[0]))
        #expect((180...190).contains(shares(200, audio: nil)[0]))
    }

    @Test("the lowest layer is filled first, and a layer below its minimum gets nothing")
    func layers() {
        #expect(shares(10_000) == [350, 830, 1_600])
        #expect(shares(600)[0] == 350)
        #expect(shares(600)[1...] == [0, 0])
        let two = shares(1_000)
        #expect(two[0] == 350 && (450...500).contains(two[1]) && two[2] == 0)
        let three = shares(2_200)
        #expect(three[0] == 350 && three[1] == 830 && (740...790).contains(three[2]))
    }

    @Test("if everything can be sent, the division equals the requested rates")
    func total() {
        let total = BandwidthAllocation.total(audio: .kilobits(64), layers: Self.layers)
        let divided = BandwidthAllocation.divide(total, audio: .kilobits(64), layers: Self.layers)
        let sum = divided.reduce(0) { $0 + $1.bitsPerSecond }
        #expect(abs(sum - 2_780_000) < 2_000)
    }
}
