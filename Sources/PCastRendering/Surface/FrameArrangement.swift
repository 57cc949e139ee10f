public import PCastCodecs
public import PCastCore

/// The way to fit frames to a surface of another aspect ratio.
public enum AspectRatioMode: String, CaseIterable, Sendable {
    /// Fill if little is cropped, otherwise letterbox (Phenix: "usually fill").
    case automatic
    /// The frame fills the surface. It is cropped equally on both sides.
    case fill
    /// The whole frame is visible. The rest of the surface is black.
    case letterbox
}

/// The arrangement of frames on a surface: aspect ratio mode, mirroring and rotation.
public struct FrameArrangement: Hashable, Sendable {
    /// The largest fraction of width or height that `automatic` crops. 16:9 on a 16:10 display loses a tenth and is
    /// cropped; on a 4:3 display it loses a quarter and is not.
    static let maximumCutOff = 1.0 / 8

    /// The way to fit frames to the surface.
    public var aspectRatioMode: AspectRatioMode

    /// The mirroring before the rotation.
    public var mirroring: FrameMirroring

    /// The rotation.
    public var rotation: FrameRotation

    /// Creates an arrangement.
    public init(
        aspectRatioMode: AspectRatioMode = .automatic, mirroring: FrameMirroring = [], rotation: FrameRotation = .none
    ) {
        self.aspectRatioMode = aspectRatioMode
        self.mirroring = mirroring
        self.rotation = rotation
    }

    /// A part of the frame and its target on the surface.
    public struct Placement: Hashable, Sendable {
        /// The part of the frame.
        public var part: FrameRectangle
        /// The rectangle on the surface, after mirroring and rotation.
        public var target: FrameRectangle

        /// Creates a placement from the part and its target.
        public init(part: FrameRectangle, target: FrameRectangle) {
            self.part = part
            self.target = target
        }
    }

    /// Returns the placement of a frame on a surface. `pixelAspect` is the width of the surface's pixels divided by
    /// their height. It differs from 1 only in terminals.
    public func placement(_ frame: Dimensions, on surface: Dimensions, pixelAspect: Double = 1) -> Placement {
        let whole = FrameRectangle(frame)
        guard frame.width > 0, frame.height > 0, surface.width > 0, surface.height > 0 else {
            return Placement(part: whole, target: FrameRectangle(Dimensions(width: 0, height: 0)))
        }
        let turned = rotatedDimensions(frame)
        let frameShape = Double(turned.width) / Double(turned.height)
        let surfaceShape = Double(surface.width) * pixelAspect / Double(surface.height)
        let isWider = frameShape > surfaceShape
        let kept = isWider ? surfaceShape / frameShape : frameShape / surfaceShape
        if fills(kept) {
            // Crops the excess of the upright frame.
            let width = isWider ? max(1, Int((Double(turned.width) * kept).rounded())) : turned.width
            let height = isWider ? turned.height : max(1, Int((Double(turned.height) * kept).rounded()))
            let part = rotatedDimensions(Dimensions(width: width, height: height))
            return Placement(
                part: FrameRectangle(
                    x: (frame.width - part.width) / 2 & ~1, y: (frame.height - part.height) / 2 & ~1,
                    width: part.width, height: part.height),
                target: FrameRectangle(surface))
        }
        let width = isWider ? surface.width : max(1, Int((Double(surface.width) * kept).rounded()))
        let height = isWider ? max(1, Int((Double(surface.height) * kept).rounded())) : surface.height
        return Placement(
            part: whole,
            target: FrameRectangle(
                x: (surface.width - width) / 2, y: (surface.height - height) / 2, width: width, height: height))
    }

    private func fills(_ kept: Double) -> Bool {
        switch aspectRatioMode {
        case .fill: true
        case .letterbox: kept == 1
        case .automatic: 1 - kept <= Self.maximumCutOff
        }
    }

    private func rotatedDimensions(_ dimensions: Dimensions) -> Dimensions {
        rotation.exchangesSides ? Dimensions(width: dimensions.height, height: dimensions.width) : dimensions
    }
}
