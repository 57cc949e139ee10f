/// A spectrum with separate real and imaginary parts.
final class Spectrum {
    private let buffer: VectorBuffer

    /// The number of frequency bins.
    let count: Int

    /// Creates a spectrum of zeros. `count` must be a multiple of eight.
    init(count: Int) {
        self.count = count
        buffer = VectorBuffer(count: 2 * count)
    }

    var real: UnsafeMutablePointer<SIMD8<Float>> { buffer.vectors }
    var imaginary: UnsafeMutablePointer<SIMD8<Float>> { buffer.vectors + count / 8 }
    var realFloats: UnsafeMutablePointer<Float> { buffer.floats }
    var imaginaryFloats: UnsafeMutablePointer<Float> { buffer.floats + count }

    func clear() { buffer.fill(0) }
}
