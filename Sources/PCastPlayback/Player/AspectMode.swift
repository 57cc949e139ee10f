public import PCastRendering

/// The mode that fits frames into an area with another aspect ratio.
public typealias AspectMode = AspectRatioMode
