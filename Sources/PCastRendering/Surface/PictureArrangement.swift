public import PCastCodecs
public import PCastMedia

/// How a picture lies on a surface of another shape.
public enum AspectRatioMode: String, CaseIterable, Sendable {
    /// Fill where little is cut off, else letterbox (Phenix: "usually fill").
    case automatic
    /// The whole surface; what does not fit is cut off on both sides alike.
    case fill
    /// The whole picture; the rest of the surface is black.
    case letterbox
}

/// How pictures lie on a surface: aspect mode, mirroring and rotation, and where that puts them.
public struct PictureArrangement: Hashable, Sendable {
    /// What `automatic` cuts off at most, of the picture's width or height: 16:9 fills a display of 16:10, which costs a
    /// tenth, and not one of 4:3, which costs a quarter.
    static let mostCutOff = 1.0 / 8

    public var aspectRatioMode: AspectRatioMode

    /// What is exchanged, before the turn.
    public var mirroring: PictureMirroring

    public var rotation: PictureTurn

    public init(
        aspectRatioMode: AspectRatioMode = .automatic, mirroring: PictureMirroring = [], rotation: PictureTurn = .none
    ) {
        self.aspectRatioMode = aspectRatioMode
        self.mirroring = mirroring
        self.rotation = rotation
    }

    /// A part of the picture, and where on the surface it is drawn once it is mirrored and turned.
    public struct Place: Hashable, Sendable {
        public var part: PictureRectangle
        public var target: PictureRectangle

        public init(part: PictureRectangle, target: PictureRectangle) {
            self.part = part
            self.target = target
        }
    }

    /// Where a picture lies on a surface.
    ///
    /// - Parameter pixelAspect: how wide the surface's pixels are for their height: 1 but in a terminal of cells.
    public func place(_ picture: Dimensions, on surface: Dimensions, pixelAspect: Double = 1) -> Place {
        let whole = PictureRectangle(picture)
        guard picture.width > 0, picture.height > 0, surface.width > 0, surface.height > 0 else {
            return Place(part: whole, target: PictureRectangle(Dimensions(width: 0, height: 0)))
        }
        let turned = turnedSides(picture)
        let pictureShape = Double(turned.width) / Double(turned.height)
        let surfaceShape = Double(surface.width) * pixelAspect / Double(surface.height)
        let isWider = pictureShape > surfaceShape
        let kept = isWider ? surfaceShape / pictureShape : pictureShape / surfaceShape
        if fills(kept) {
            // Cut off what is too wide or too high of the upright picture.
            let width = isWider ? max(1, Int((Double(turned.width) * kept).rounded())) : turned.width
            let height = isWider ? turned.height : max(1, Int((Double(turned.height) * kept).rounded()))
            let part = turnedSides(Dimensions(width: width, height: height))
            return Place(
                part: PictureRectangle(
                    x: (picture.width - part.width) / 2 & ~1, y: (picture.height - part.height) / 2 & ~1,
                    width: part.width, height: part.height),
                target: PictureRectangle(surface))
        }
        let width = isWider ? surface.width : max(1, Int((Double(surface.width) * kept).rounded()))
        let height = isWider ? max(1, Int((Double(surface.height) * kept).rounded())) : surface.height
        return Place(
            part: whole,
            target: PictureRectangle(
                x: (surface.width - width) / 2, y: (surface.height - height) / 2, width: width, height: height))
    }

    private func fills(_ kept: Double) -> Bool {
        switch aspectRatioMode {
        case .fill: true
        case .letterbox: kept == 1
        case .automatic: 1 - kept <= Self.mostCutOff
        }
    }

    private func turnedSides(_ dimensions: Dimensions) -> Dimensions {
        rotation.exchangesSides ? Dimensions(width: dimensions.height, height: dimensions.width) : dimensions
    }
}
