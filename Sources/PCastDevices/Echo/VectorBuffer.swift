/// A buffer of floats at a fixed address, accessible as vectors of eight. Audio processing uses it as preallocated
/// memory.
final class VectorBuffer {
    let vectors: UnsafeMutablePointer<SIMD8<Float>>
    let vectorCount: Int

    /// Creates a buffer of zeros. `count` must be a multiple of eight.
    init(count: Int) {
        precondition(count > 0 && count.isMultiple(of: 8))
        vectorCount = count / 8
        vectors = .allocate(capacity: vectorCount)
        vectors.initialize(repeating: .zero, count: vectorCount)
    }

    deinit { vectors.deallocate() }

    var count: Int { vectorCount * 8 }

    /// The buffer as single floats, valid as long as the buffer.
    var floats: UnsafeMutablePointer<Float> {
        UnsafeMutableRawPointer(vectors).assumingMemoryBound(to: Float.self)
    }

    func fill(_ value: Float) { vectors.update(repeating: SIMD8(repeating: value), count: vectorCount) }

    /// The sum of all squares.
    var energy: Float {
        var sum = SIMD8<Float>.zero
        for index in 0..<vectorCount { sum += vectors[index] * vectors[index] }
        return sum.sum()
    }

    /// Copies another buffer to an offset that is a multiple of eight.
    func replace(at start: Int, with other: VectorBuffer) {
        precondition(start.isMultiple(of: 8) && start + other.count <= count)
        (vectors + start / 8).update(from: other.vectors, count: other.vectorCount)
    }

    /// Moves the content to the front by the length of `samples`, and appends these.
    func shift(in samples: VectorBuffer) {
        let kept = vectorCount - samples.vectorCount
        vectors.update(from: vectors + samples.vectorCount, count: kept)
        (vectors + kept).update(from: samples.vectors, count: samples.vectorCount)
    }
}
