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
