public import PCastCore
import PCastWebRTC

/// Prefetching of viewers' state. The state of a thousand viewers exceeds the processor's nearer caches, so it is
/// loaded while other viewers are served.
extension SFU {
    /// The number of viewers whose state stays in the caches.
    private static let nearViewers = 16

    /// Prefetches the state of the next viewers, one step further for each of them.
    @inline(__always)
    mutating func prefetch(viewersOf stream: UnsafeMutablePointer<PublishedStream>, count: Int) {
        guard count > Self.nearViewers else { return }
        var turn = stream.pointee.firstViewer + stream.pointee.nextViewer
        for step in Prefetch.allCases.reversed() {
            turn += 1
            viewers.address(stream.pointee.viewers[turn < count ? turn : turn % count]).pointee.prefetch(step)
        }
    }

    /// Prefetches the state of the viewers whose reports arrived in a batch. Their state is scattered and has not been
    /// used since the last frame, so the loads of several viewers overlap.
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
