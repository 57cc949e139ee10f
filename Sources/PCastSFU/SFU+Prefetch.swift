public import PCastCore
import PCastWebRTC

/// Prefetching of viewers' state. The state of a thousand viewers exceeds the processor's nearer caches, so it is
/// loaded while other viewers are served.
extension SFU {
    /// The number of viewers whose state stays in the caches.
    private static let prefetchedViewers = 16

    /// Prefetches the state of the next viewers, one step further for each of them.
    @inline(__always)
    mutating func prefetch(viewersOf stream: UnsafeMutablePointer<PublishedStream>, count: Int) {
        guard count > Self.prefetchedViewers else { return }
        var turn = stream.pointee.firstViewer + stream.pointee.nextViewer
        for step in Prefetch.allCases.reversed() {
            turn += 1
            viewers.address(stream.pointee.viewers[turn < count ? turn : turn % count]).pointee.prefetch(step)
        }
    }

    /// Prefetches the state of the viewers whose reports arrived in a batch. Their state is scattered and has not been
    /// used since the last frame, so the loads of several viewers overlap.
    public mutating func expect(from paths: Span<NetworkPath>) {
        guard viewers.count > Self.prefetchedViewers else { return }
        var expected = [Int]()
        swap(&expected, &expectedViewers)
        expected.removeAll(keepingCapacity: true)
        self.paths.expect(from: paths) { peerIndex in
            guard case .viewer(let index) = peerIndex, viewers.contains(index) else { return }
            Prefetch.bring(viewers.address(index), MemoryLayout<Viewer>.size)
            expected.append(index)
        }
        swap(&expected, &expectedViewers)
        prefetchExpected(.objects)
        prefetchExpected(.tables)
        prefetchExpected(.keys)
    }

    private mutating func prefetchExpected(_ step: Prefetch) {
        for viewerIndex in expectedViewers {
            viewers.address(viewerIndex).pointee.transport.prefetchReceiving(step)
            viewers.address(viewerIndex).pointee.sender.prefetchReporting(step)
        }
    }
}
