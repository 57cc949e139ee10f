public import PCastCore
import PCastWebRTC

/// What a thousand viewers need is more than the processor's nearer caches hold: it is brought near while others are served.
extension SFU {
    /// So few are near in any case.
    private static let nearViewers = 16

    /// Has what the next viewers' packets need brought near, a step further for each of them.
    @inline(__always)
    mutating func prefetch(viewersOf stream: UnsafeMutablePointer<PublishedStream>, count: Int) {
        guard count > Self.nearViewers else { return }
        var turn = stream.pointee.firstViewer + stream.pointee.nextViewer
        for step in Prefetch.allCases.reversed() {
            turn += 1
            viewers.address(stream.pointee.viewers[turn < count ? turn : turn % count]).pointee.prefetch(step)
        }
    }

    /// Who reports has not been thought of since the last picture, and what its report needs lies scattered: it is brought
    /// near for several at a time.
    public mutating func expect(from paths: Span<NetworkPath>) {
        guard viewers.count > Self.nearViewers else { return }
        var expected = [Int]()
        swap(&expected, &expectedViewers)
        expected.removeAll(keepingCapacity: true)
        self.paths.expect(from: paths) { place in
            guard case .viewer(let place) = place, viewers.contains(place) else { return }
            Prefetch.bring(viewers.address(place), MemoryLayout<Viewer>.size)
            expected.append(place)
        }
        swap(&expected, &expectedViewers)
        bringExpectedNear(.objects)
        bringExpectedNear(.tables)
        bringExpectedNear(.keys)
    }

    private mutating func bringExpectedNear(_ step: Prefetch) {
        for place in expectedViewers {
            viewers.address(place).pointee.transport.bringReceivingNear(step)
            viewers.address(place).pointee.sender.bringReportingNear(step)
        }
    }
}
