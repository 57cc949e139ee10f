/// The layers of a stream's video in the publisher's order, at stable addresses. There is one without simulcast, and
/// one that does not exist without video.
struct VideoLayers: ~Copyable {
    private let tracks: UnsafeMutablePointer<PublishedTrack>
    let count: Int

    init(count: Int, _ make: (Int) -> PublishedTrack) {
        precondition(count > 0, "there must be at least one track")
        self.count = count
        tracks = .allocate(capacity: count)
        for index in 0..<count { (tracks + index).initialize(to: make(index)) }
    }

    deinit {
        tracks.deinitialize(count: count)
        tracks.deallocate()
    }

    var indices: Range<Int> { 0..<count }

    /// Whether the stream has video.
    var exist: Bool { tracks.pointee.exists }

    /// The address of a layer.
    func address(_ index: Int) -> UnsafeMutablePointer<PublishedTrack> {
        precondition(indices.contains(index), "the layer does not exist")
        return tracks + index
    }

    subscript(index: Int) -> PublishedTrack {
        unsafeAddress { UnsafePointer(address(index)) }
        unsafeMutableAddress { address(index) }
    }
}
