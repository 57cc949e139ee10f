import Glibc

/// The Fourier transform of real samples for lengths that are powers of two: Stockham's algorithm in radix 4, which
/// needs no bit reversal and uses vectors.
///
/// The bin at half the sample rate is omitted: there are `length / 2` bins, and the inverse assumes that this bin is
/// zero.
final class RealTransform {
    let length: Int

    /// The number of complex values of the inner transform: even samples are real parts, odd ones imaginary parts.
    let half: Int
    private let first: Spectrum
    private let second: Spectrum
    /// The values exp(-2πik / half) for all k.
    let turns: Spectrum
    /// The values exp(-2πik / length) for k below half.
    private let halfTurns: Spectrum

    /// Creates a transform of a length that is a power of two, at least 64.
    init(length: Int) {
        precondition(length >= 64 && length.nonzeroBitCount == 1)
        self.length = length
        half = length / 2
        first = Spectrum(count: half)
        second = Spectrum(count: half)
        turns = Spectrum(count: half)
        halfTurns = Spectrum(count: half)
        for index in 0..<half {
            let angle = -2 * Double.pi * Double(index) / Double(half)
            turns.realFloats[index] = Float(cos(angle))
            turns.imaginaryFloats[index] = Float(sin(angle))
            halfTurns.realFloats[index] = Float(cos(angle / 2))
            halfTurns.imaginaryFloats[index] = Float(sin(angle / 2))
        }
    }

    /// Computes the spectrum of `length` samples.
    func forward(_ samples: UnsafePointer<Float>, into spectrum: Spectrum) {
        forward(samples, real: spectrum.realFloats, imaginary: spectrum.imaginaryFloats)
    }

    func forward(
        _ samples: UnsafePointer<Float>, real: UnsafeMutablePointer<Float>, imaginary: UnsafeMutablePointer<Float>
    ) {
        let (inReal, inImaginary) = (first.realFloats, first.imaginaryFloats)
        for index in 0..<half {
            inReal[index] = samples[2 * index]
            inImaginary[index] = samples[2 * index + 1]
        }
        let (zReal, zImaginary) = transform(
            (inReal, inImaginary), (second.realFloats, second.imaginaryFloats))
        real[0] = zReal[0] + zImaginary[0]
        imaginary[0] = 0
        let (turnReal, turnImaginary) = (halfTurns.realFloats, halfTurns.imaginaryFloats)
        for index in 1..<half {
            let mirror = half - index
            let (evenReal, evenImaginary) = (zReal[index] + zReal[mirror], zImaginary[index] - zImaginary[mirror])
            let (oddReal, oddImaginary) = (zImaginary[index] + zImaginary[mirror], zReal[mirror] - zReal[index])
            let (c, s) = (turnReal[index], turnImaginary[index])
            real[index] = 0.5 * (evenReal + oddReal * c - oddImaginary * s)
            imaginary[index] = 0.5 * (evenImaginary + oddReal * s + oddImaginary * c)
        }
    }

    /// Computes the samples of a spectrum, the inverse of `forward` without the bin at half the sample rate.
    func inverse(_ spectrum: Spectrum, into samples: UnsafeMutablePointer<Float>) {
        inverse(real: spectrum.realFloats, imaginary: spectrum.imaginaryFloats, into: samples)
    }

    func inverse(
        real: UnsafePointer<Float>, imaginary: UnsafePointer<Float>, into samples: UnsafeMutablePointer<Float>
    ) {
        let (inReal, inImaginary) = (first.realFloats, first.imaginaryFloats)
        let (turnReal, turnImaginary) = (halfTurns.realFloats, halfTurns.imaginaryFloats)
        inReal[0] = 0.5 * real[0]
        inImaginary[0] = 0.5 * real[0]
        for index in 1..<half {
            let mirror = half - index
            let (evenReal, evenImaginary) = (real[index] + real[mirror], imaginary[index] - imaginary[mirror])
            let (differenceReal, differenceImaginary) = (
                real[index] - real[mirror], imaginary[index] + imaginary[mirror]
            )
            // The rotation is inverse, so its factor is conjugated.
            let (c, s) = (turnReal[index], -turnImaginary[index])
            let oddReal = differenceReal * c - differenceImaginary * s
            let oddImaginary = differenceReal * s + differenceImaginary * c
            inReal[index] = 0.5 * (evenReal - oddImaginary)
            inImaginary[index] = 0.5 * (evenImaginary + oddReal)
        }
        // With real and imaginary parts exchanged at input and output, the forward transform is the inverse.
        let (outImaginary, outReal) = transform(
            (inImaginary, inReal), (second.imaginaryFloats, second.realFloats))
        let scale = 1 / Float(half)
        for index in 0..<half {
            samples[2 * index] = outReal[index] * scale
            samples[2 * index + 1] = outImaginary[index] * scale
        }
    }
}

extension RealTransform {
    typealias Parts = (UnsafeMutablePointer<Float>, UnsafeMutablePointer<Float>)

    /// Transforms `half` complex values with both buffers. Returns the buffer that contains the result.
    func transform(_ source: Parts, _ other: Parts) -> Parts {
        var (from, to) = (source, other)
        var (count, stride) = (half, 1)
        while count >= 4 {
            if stride == 1 {
                firstStep(from, to)
            } else if stride == 4 {
                step(SIMD4<Float>.self, from, to, count: count, stride: stride)
            } else {
                step(SIMD8<Float>.self, from, to, count: count, stride: stride)
            }
            swap(&from, &to)
            count /= 4
            stride *= 4
        }
        if count == 2 {
            for index in 0..<stride {
                let (a, b) = (index, index + stride)
                (to.0[a], to.1[a]) = (from.0[a] + from.0[b], from.1[a] + from.1[b])
                (to.0[b], to.1[b]) = (from.0[a] - from.0[b], from.1[a] - from.1[b])
            }
            swap(&from, &to)
        }
        return from
    }

    /// Computes the step of stride one, whose vectors cover butterflies.
    private func firstStep(_ from: Parts, _ to: Parts) {
        let quarter = half / 4
        for index in 0..<quarter {
            butterfly(
                from, to, at: (index, index + quarter, index + 2 * quarter, index + 3 * quarter), to: 4 * index,
                stride: 1, turn: index)
        }
    }

    @inline(__always)
    private func butterfly(
        _ from: Parts, _ to: Parts, at indices: (Int, Int, Int, Int), to target: Int, stride: Int, turn: Int
    ) {
        let (xr, xi) = from
        let (a, b, c, d) = indices
        let (sumReal, sumImaginary) = (xr[a] + xr[c], xi[a] + xi[c])
        let (differenceReal, differenceImaginary) = (xr[a] - xr[c], xi[a] - xi[c])
        let (otherSumReal, otherSumImaginary) = (xr[b] + xr[d], xi[b] + xi[d])
        let (otherReal, otherImaginary) = (xr[b] - xr[d], xi[b] - xi[d])
        to.0[target] = sumReal + otherSumReal
        to.1[target] = sumImaginary + otherSumImaginary
        store(
            differenceReal + otherImaginary, differenceImaginary - otherReal, to, target + stride, turn)
        store(sumReal - otherSumReal, sumImaginary - otherSumImaginary, to, target + 2 * stride, 2 * turn)
        store(
            differenceReal - otherImaginary, differenceImaginary + otherReal, to, target + 3 * stride, 3 * turn)
    }

    @inline(__always)
    private func store(_ real: Float, _ imaginary: Float, _ to: Parts, _ target: Int, _ turn: Int) {
        let (c, s) = (turns.realFloats[turn], turns.imaginaryFloats[turn])
        to.0[target] = real * c - imaginary * s
        to.1[target] = real * s + imaginary * c
    }

    /// Computes a step whose vectors cover values with the same rotation.
    @inline(__always)
    private func step<Vector: SIMD>(
        _: Vector.Type, _ from: Parts, _ to: Parts, count: Int, stride: Int
    ) where Vector.Scalar == Float {
        func vectors(_ pointer: UnsafeMutablePointer<Float>) -> UnsafeMutablePointer<Vector> {
            UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: Vector.self)
        }
        let (xr, xi, yr, yi) = (vectors(from.0), vectors(from.1), vectors(to.0), vectors(to.1))
        let width = stride / Vector.scalarCount
        let quarter = count / 4
        for turn in 0..<quarter {
            let (c1, s1) = (turns.realFloats[turn * stride], turns.imaginaryFloats[turn * stride])
            let (c2, s2) = (turns.realFloats[2 * turn * stride], turns.imaginaryFloats[2 * turn * stride])
            let (c3, s3) = (turns.realFloats[3 * turn * stride], turns.imaginaryFloats[3 * turn * stride])
            for index in 0..<width {
                let a = index + width * turn
                let (b, c, d) = (a + width * quarter, a + 2 * width * quarter, a + 3 * width * quarter)
                let (sumReal, sumImaginary) = (xr[a] + xr[c], xi[a] + xi[c])
                let (differenceReal, differenceImaginary) = (xr[a] - xr[c], xi[a] - xi[c])
                let (otherSumReal, otherSumImaginary) = (xr[b] + xr[d], xi[b] + xi[d])
                let (otherReal, otherImaginary) = (xr[b] - xr[d], xi[b] - xi[d])
                let target = index + 4 * width * turn
                yr[target] = sumReal + otherSumReal
                yi[target] = sumImaginary + otherSumImaginary
                let (real1, imaginary1) = (differenceReal + otherImaginary, differenceImaginary - otherReal)
                yr[target + width] = real1 * c1 - imaginary1 * s1
                yi[target + width] = real1 * s1 + imaginary1 * c1
                let (real2, imaginary2) = (sumReal - otherSumReal, sumImaginary - otherSumImaginary)
                yr[target + 2 * width] = real2 * c2 - imaginary2 * s2
                yi[target + 2 * width] = real2 * s2 + imaginary2 * c2
                let (real3, imaginary3) = (differenceReal - otherImaginary, differenceImaginary + otherReal)
                yr[target + 3 * width] = real3 * c3 - imaginary3 * s3
                yi[target + 3 * width] = real3 * s3 + imaginary3 * c3
            }
        }
    }
}

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
