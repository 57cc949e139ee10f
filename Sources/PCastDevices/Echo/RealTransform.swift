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
