import PCastCore
import PCastRTP
import Testing

@testable import PCastSFU

/// The layer of a viewer, depending on what its link carries.
struct LayerSelectionTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static let audio = Bitrate.kilobits(90)

    /// Layers of 180p, 360p and 720p, offered with the best first.
    private static let three = LayerLadder([
        .init(layer: 0, bitrate: .kilobits(1_600), dimensions: Dimensions(width: 1280, height: 720), isAvailable: true),
        .init(layer: 1, bitrate: .kilobits(520), dimensions: Dimensions(width: 640, height: 360), isAvailable: true),
        .init(layer: 2, bitrate: .kilobits(200), dimensions: Dimensions(width: 320, height: 180), isAvailable: true),
    ])

    /// A layer with three spatial and two temporal layers in its SSRC.
    private static let scalable = LayerLadder([
        .init(
            layer: 0, bitrate: .kilobits(1_600), dimensions: Dimensions(width: 1280, height: 720), isAvailable: true),
        .init(
            layer: 0, bitrate: .kilobits(520), dimensions: Dimensions(width: 640, height: 360), isAvailable: true,
            point: OperatingPoint(spatial: 1, temporal: 7)),
        .init(
            layer: 0, bitrate: .kilobits(200), dimensions: Dimensions(width: 320, height: 180), isAvailable: true,
            point: OperatingPoint(spatial: 0, temporal: 7)),
        .init(
            layer: 0, bitrate: .kilobits(130), dimensions: Dimensions(width: 320, height: 180), isAvailable: true,
            point: OperatingPoint(spatial: 0, temporal: 0)),
    ])

    private static let one = LayerLadder([
        .init(layer: 0, bitrate: .kilobits(1_600), dimensions: nil, isAvailable: true)
    ])

    /// A run that decides every 100 ms.
    private struct Run {
        var selection = LayerSelection()
        var ladder: LayerLadder
        var now = LayerSelectionTests.start
        var changes = 0

        init(_ ladder: LayerLadder = three) {
            self.ladder = ladder
            selection.begin(ladder)
        }

        mutating func go(_ seconds: Double, kilobits: Int64?) {
            for _ in 0..<Int(seconds * 10) {
                now = now + .milliseconds(100)
                let before = selection.choice
                _ = selection.decide(ladder, audio: audio, allowance: kilobits.map { .kilobits($0) }, at: now)
                if selection.choice != before { changes += 1 }
            }
        }
    }

    @Test("layers are ordered by quality, whatever their order in the offer, and a new viewer begins in the middle")
    func order() {
        #expect(Self.three.rungs.map(\.layer) == [2, 1, 0])
        #expect(Run().selection.choice == .layer(1))
        let unknown = LayerLadder(
            [900, 100, 400].enumerated().map {
                .init(layer: $0.offset, bitrate: .kilobits($0.element), dimensions: nil, isAvailable: true)
            })
        #expect(unknown.rungs.map(\.layer) == [1, 2, 0])
    }

    @Test("a layer is raised after bandwidth has been available for a second, and lowered at once")
    func raisesSlowlyAndLowersAtOnce() {
        var run = Run()
        run.go(0.9, kilobits: 3_000)
        #expect(run.selection.choice == .layer(1) && run.selection.cause == .link)
        run.go(0.3, kilobits: 3_000)
        #expect(run.selection.choice == .layer(0) && run.selection.cause == .none)
        run.go(0.1, kilobits: 700)
        #expect(run.selection.choice == .layer(1) && run.selection.cause == .link)
        run.go(0.1, kilobits: 320)
        #expect(run.selection.choice == .layer(2) && run.changes == 3)
    }

    @Test("a small lack of bandwidth is tolerated for a second")
    func toleratesSmallLack() {
        var run = Run()
        run.go(2, kilobits: 3_000)
        run.go(0.5, kilobits: 1_600)
        run.go(0.5, kilobits: 2_000)
        run.go(0.9, kilobits: 1_600)
        #expect(run.selection.choice == .layer(0))
        run.go(0.3, kilobits: 1_600)
        #expect(run.selection.choice == .layer(1))
    }

    @Test("raises that prove too early are repeated at growing intervals")
    func hysteresis() {
        var run = Run()
        // The link carries the upper layer for two of every three seconds.
        for _ in 0..<40 {
            run.go(2, kilobits: 2_200)
            run.go(1, kilobits: 900)
        }
        #expect(run.changes <= 8, "changed \(run.changes) times in two minutes")
        run.go(40, kilobits: 2_200)
        #expect(run.selection.choice == .layer(0))
    }

    @Test("bandwidth that only varies around a layer's bit rate does not raise the layer")
    func varyingBandwidth() {
        var run = Run()
        run.go(20, kilobits: 1_600 + 90 + 100)
        #expect(run.selection.choice == .layer(1) && run.changes == 0)
    }

    @Test("below the lowest layer only audio is sent, below that nothing, and both recover")
    func audioOnly() {
        var run = Run()
        run.go(0.2, kilobits: 100)
        run.go(2.5, kilobits: 100)
        #expect(run.selection.choice == .audioOnly && run.selection.cause == .link)
        run.go(1.9, kilobits: 30)
        #expect(run.selection.choice == .audioOnly)
        run.go(0.3, kilobits: 30)
        #expect(run.selection.choice == .nothing)
        run.go(0.2, kilobits: 100)
        #expect(run.selection.choice == .audioOnly)
        run.go(0.5, kilobits: 330)
        #expect(run.selection.choice == .layer(2))
        run.go(1.5, kilobits: 5_000)
        #expect(run.selection.choice == .layer(0))
    }

    @Test("layers in one SSRC are selected like others, and the frame rate is reduced only in the lowest one")
    func operatingPoints() {
        var run = Run(Self.scalable)
        #expect(run.selection.choice == .layer(0) && run.selection.point == OperatingPoint(spatial: 1, temporal: 7))
        run.go(2, kilobits: 3_000)
        #expect(run.selection.point == .all && run.selection.cause == .none)
        run.go(0.1, kilobits: 320)
        #expect(run.selection.point == OperatingPoint(spatial: 0, temporal: 7) && run.selection.cause == .link)
        run.go(2, kilobits: 235)
        #expect(run.selection.point == OperatingPoint(spatial: 0, temporal: 0))
        run.go(4, kilobits: 130)
        #expect(run.selection.choice == .audioOnly)
        run.go(20, kilobits: 3_000)
        #expect(run.selection.choice == .layer(0) && run.selection.point == .all)
        // The sender ends its upper spatial layers.
        run.ladder = LayerLadder([
            .init(layer: 0, bitrate: .kilobits(200), dimensions: nil, isAvailable: true),
            .init(
                layer: 0, bitrate: .kilobits(130), dimensions: nil, isAvailable: true,
                point: OperatingPoint(spatial: 7, temporal: 0)),
        ])
        run.go(1, kilobits: 3_000)
        #expect(run.selection.point == .all && run.selection.cause == .none)
    }

    @Test("the limit of a viewer selects among layers in one SSRC, and a pin of their layer allows all of them")
    func limitedOperatingPoints() {
        var run = Run(Self.scalable)
        run.selection.limit = .kilobits(250)
        run.go(3, kilobits: 3_000)
        #expect(run.selection.point == OperatingPoint(spatial: 0, temporal: 7) && run.selection.cause == .limit)
        run.selection.limit = nil
        run.selection.pin = 0
        run.go(3, kilobits: 3_000)
        #expect(run.selection.point == .all)
    }

    @Test("the parts of a layer are below it, even if their bit rates are equal")
    func equalBitrates() {
        let ladder = LayerLadder(
            [7, 0, 1].map {
                .init(
                    layer: 0, bitrate: .kilobits(0), dimensions: nil, isAvailable: true,
                    point: OperatingPoint(spatial: 7, temporal: $0))
            })
        #expect(ladder.rungs.map(\.point.temporal) == [0, 1, 7])
        #expect(ladder.rank(of: 0, .all) == 2)
        #expect(ladder.rungs[ladder.start].point == .all)
    }

    @Test("the shares of layers follow what arrives")
    func shares() throws {
        var shares = LayerShares()
        #expect(shares.highest == OperatingPoint(spatial: 0, temporal: 0) && shares.share(of: .all) == 1)
        // I, L; picture ID; TID, SID.
        func layers(_ spatial: UInt8, _ temporal: UInt8) -> FrameLayers {
            let payload: [UInt8] = [0xA8, 1, temporal << 5 | spatial << 1, 0, 0]
            return FrameLayers(.vp9, payload.span)
        }
        for _ in 0..<10 {
            shares.count(layers(0, 0), 100)
            shares.count(layers(1, 0), 300)
            shares.count(layers(0, 1), 100)
            shares.count(layers(1, 1), 500)
            shares.review()
        }
        #expect(shares.highest == OperatingPoint(spatial: 1, temporal: 1))
        #expect(abs(shares.share(of: OperatingPoint(spatial: 0, temporal: 7)) - 0.2) < 0.01)
        #expect(abs(shares.share(of: OperatingPoint(spatial: 7, temporal: 0)) - 0.4) < 0.01)
        for _ in 0..<40 {
            shares.count(layers(0, 0), 100)
            shares.review()
        }
        #expect(shares.highest == OperatingPoint(spatial: 0, temporal: 0))
    }

    @Test("a single layer tolerates much too little bandwidth for three seconds, and almost none not at all")
    func single() {
        var run = Run(Self.one)
        #expect(run.selection.choice == .layer(0))
        run.go(2.9, kilobits: 700)
        #expect(run.selection.choice == .layer(0))
        // Its encoder was asked for a lower bit rate.
        run.ladder = LayerLadder([.init(layer: 0, bitrate: .kilobits(550), dimensions: nil, isAvailable: true)])
        run.go(10, kilobits: 700)
        #expect(run.selection.choice == .layer(0) && run.changes == 0)
        run.go(0.1, kilobits: 120)
        #expect(run.selection.choice == .audioOnly)
        run.go(0.5, kilobits: 700)
        #expect(run.selection.choice == .layer(0))
    }

    @Test("a pin and a limit bound the layer from above, and the link may lower it further")
    func pinAndLimit() {
        var run = Run()
        run.selection.pin = 2
        run.go(0.1, kilobits: 5_000)
        #expect(run.selection.choice == .layer(2) && run.selection.cause == .pin)
        run.selection.pin = nil
        run.selection.limit = .kilobits(600)
        run.go(5, kilobits: 5_000)
        #expect(run.selection.choice == .layer(1) && run.selection.cause == .limit)
        run.go(0.1, kilobits: 330)
        #expect(run.selection.choice == .layer(2) && run.selection.cause == .link)
        run.selection.limit = nil
        run.go(15, kilobits: 5_000)
        #expect(run.selection.choice == .layer(0) && run.selection.cause == .none)
        // A limit never removes video completely.
        run.selection.limit = .kilobits(10)
        run.go(0.1, kilobits: 5_000)
        #expect(run.selection.choice == .layer(2))
    }

    @Test("layers that the publisher does not send are not waited for")
    func publisher() {
        var run = Run()
        run.go(3, kilobits: 5_000)
        var rungs = Self.three.rungs
        rungs[2].isAvailable = false
        run.ladder = LayerLadder(rungs)
        run.go(0.1, kilobits: 5_000)
        #expect(run.selection.choice == .layer(1) && run.selection.cause == .publisher)
        run.ladder = Self.three
        run.go(1.5, kilobits: 5_000)
        #expect(run.selection.choice == .layer(0))
    }

    @Test("a viewer whose link is unknown receives the best layer")
    func unknown() {
        var run = Run()
        run.go(2, kilobits: nil)
        #expect(run.selection.choice == .layer(0))
    }
}
