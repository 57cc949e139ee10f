import PCastCore

/// Adjacent datagrams of a batch that one GSO message can carry. They have the same path and size, except that the last
/// one may be shorter (`UDP_SEGMENT`, udp(7)).
struct GSOBatch {
    let path: NetworkPath
    let offset: Int
    let segmentSize: Int
    private(set) var byteCount: Int
    private(set) var count = 1

    /// Creates a run that begins with entry `first` and has at most `limit` datagrams and `byteLimit` bytes.
    init(in batch: borrowing DatagramBatch, from first: Int, limit: Int, byteLimit: Int) {
        let entry = batch[first]
        path = entry.path
        offset = entry.offset
        segmentSize = entry.length
        byteCount = entry.length
        // An empty datagram has no segment size.
        guard entry.length > 0 else { return }
        while count < limit, first + count < batch.count {
            guard let length = batch.lengthOfMore(first + count), length > 0, length <= segmentSize,
                byteCount + length <= byteLimit
            else { return }
            byteCount += length
            count += 1
            if length < segmentSize { return }
        }
    }
}
