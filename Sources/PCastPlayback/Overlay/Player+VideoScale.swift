public import PCastOverlay

/// Squeeze-back: the picture makes room for what an overlay shows beside it.
extension Player {
    /// Where the picture goes, or is.
    public var videoScale: VideoScale { read { $0.videoScale } }

    /// Shows the picture smaller, about a point that stays, within so much time. Told as
    /// ``PlayerEvent/Kind/videoScaleChanged(_:)`` when it begins, also when it is as it was.
    ///
    /// - Returns: false where pictures are not composed, or for a scale that is none (``VideoScale/isValid``).
    @discardableResult
    public func setVideoScale(_ scale: VideoScale) -> Bool {
        guard scale.isValid, let composition = pipelines.composition else { return false }
        change { state in
            state.videoScale = scale
            composition.animate(to: scale)
            tell(.videoScaleChanged(scale), &state)
        }
        return true
    }
}
