public import PCastRendering

/// How a picture is brought into a place of another shape: what a surface's arrangement calls it.
public typealias AspectMode = AspectRatioMode
