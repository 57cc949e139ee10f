import PCastCodecs
import PCastCore

/// A value of a mode of a device, and the one that is made of it.
struct DerivedValue<Value: Equatable & Sendable>: Equatable, Sendable {
    let native: Value
    let output: Value

    /// The share of each frame that is cut off, or 1 for frames that are dropped at uneven intervals.
    let loss: Double

    /// The ratio of the pixels or frames of the device to those that are delivered.
    let surplus: Double

    /// Creates a value that is delivered as it is.
    init(native: Value) { (self.native, output, loss, surplus) = (native, native, 0, 0) }

    init(native: Value, output: Value, loss: Double, surplus: Double) {
        (self.native, self.output, self.loss, self.surplus) = (native, output, loss, surplus)
    }

    var isDerived: Bool { output != native }

    var cost: (Int, Double, Double) { (isDerived ? 1 : 0, loss, surplus) }
}

/// The sizes and rates that can be made of a mode of a device by scaling and dropping frames.
struct FormatDerivation: Sendable {
    /// Whether frames are cut to the aspect ratio of the named size. Otherwise they are scaled to fit within it.
    let cuts: Bool

    /// Creates the derivation for a type of device. A screen is not cut, because what is at its edges matters.
    init(of deviceType: SourceDeviceInfo.DeviceType) { cuts = deviceType != .systemOutput }

    /// The minimum width and height.
    private static let smallest = 16

    /// Returns the sizes that can be made of one size. `widths` and `heights` are the named values.
    func sizes(from native: Dimensions, widths: [Double], heights: [Double]) -> [DerivedValue<Dimensions>] {
        guard native.width <= 1 << 24, native.height <= 1 << 24 else { return [] }
        let (across, down) = (Double(native.width), Double(native.height))
        var sizes: [(width: Double, height: Double)] = []
        if cuts || widths.isEmpty || heights.isEmpty {
            sizes += widths.map { ($0, $0 * down / across) } + heights.map { ($0 * across / down, $0) }
        }
        for width in widths {
            for height in heights {
                let scale = min(width / across, height / down)
                sizes.append(cuts ? (width, height) : (across * scale, down * scale))
            }
        }
        return sizes.compactMap { width, height in
            guard width <= across, height <= down else { return nil }
            let output = Dimensions(width: Self.even(width), height: Self.even(height))
            guard output != native, output.width <= native.width, output.height <= native.height,
                output.width >= Self.smallest, output.height >= Self.smallest
            else { return nil }
            let part = Self.part(of: native, for: output)
            return DerivedValue(
                native: native, output: output,
                loss: cuts ? max(1 - Double(part.width * part.height) / native.area, 0) : 0,
                surplus: native.area / output.area)
        }
    }

    /// Returns the rates that can be made of one rate by dropping frames. `named` are the named rates.
    static func rates(from native: FrameRate, named: [Double]) -> [DerivedValue<FrameRate>] {
        named.compactMap { wanted in
            let output = FrameRate(near: wanted)
            let ratio = native.perSecond / output.perSecond
            guard ratio > 1 + NumericConstraint.rateTolerance else { return nil }
            let isEven = abs(ratio - ratio.rounded()) <= NumericConstraint.rateTolerance * ratio
            return DerivedValue(native: native, output: output, loss: isEven ? 0 : 1, surplus: ratio)
        }
    }

    /// Returns the largest part in the middle of a frame with the aspect ratio of another size. Its sides and
    /// coordinates are even because of 4:2:0. A difference of less than a pixel of the output is not cut off.
    static func part(of frame: Dimensions, for output: Dimensions) -> FrameRectangle {
        let (across, down) = (Double(frame.width), Double(frame.height))
        let scale = min(across / Double(output.width), down / Double(output.height))
        let (width, height) = (Double(output.width) * scale, Double(output.height) * scale)
        let isWhole = across - width < 2 * scale && down - height < 2 * scale
        let side = { (length: Double, limit: Int) in min(max(Int(length.rounded()) & ~1, 2), limit) }
        let (cutWidth, cutHeight) =
            isWhole ? (frame.width, frame.height) : (side(width, frame.width), side(height, frame.height))
        return FrameRectangle(
            x: (frame.width - cutWidth) / 2 & ~1, y: (frame.height - cutHeight) / 2 & ~1, width: cutWidth,
            height: cutHeight)
    }

    /// Returns the even number that is nearest to a length.
    private static func even(_ length: Double) -> Int { Int((length / 2).rounded(.toNearestOrAwayFromZero)) * 2 }
}
