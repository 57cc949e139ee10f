import PCastMedia

/// Neighbours in a batch that can leave as one message: one path, one size, and only the last may be shorter (IO2).
struct DatagramRun {
    let path: NetworkPath
    let offset: Int
    let segmentSize: Int
    private(set) var byteCount: Int
    private(set) var count = 1

    /// The run that begins with entry `first`, of at most `limit` datagrams and `byteLimit` bytes.
    init(in batch: borrowing DatagramBatch, from first: Int, limit: Int, byteLimit: Int) {
        let entry = batch[first]
        path = entry.path
        offset = entry.offset
        segmentSize = entry.length
        byteCount = entry.length
        // An empty datagram has no size to cut by.
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
