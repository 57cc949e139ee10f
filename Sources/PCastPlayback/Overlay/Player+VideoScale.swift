public import PCastCore
public import PCastOverlay

/// The scale of the video, which makes space for an overlay beside it (squeezeback).
extension Player {
    /// The scale of the video, or the destination of its animation.
    public var videoScale: VideoScale { read { $0.videoScale } }

    /// The frame that is seen, for a screenshot: the last one of any item, at the scale of the video and with the graphic
    /// over it, and black while another device plays (``StreamExternalPlayback``). It is nil before the first one, and if
    /// the player's frames are not composed. ``PlaybackSession/lastFrame`` is the frame of the content.
    public var displayedFrame: VideoFrame? { pipelines.displayedFrame }

    /// The composition of the frames; nil if they are not composed.
    var composition: FrameComposition? { pipelines.composition }

    /// Animates the scale of the video around a fixed point. ``PlayerEvent/Kind/videoScaleChanged(_:)`` reports the
    /// beginning, even if the scale is unchanged. Returns false, without effect, if the player's frames are not
    /// composed or the scale is not valid (``VideoScale/isValid``).
    @discardableResult
    public func setVideoScale(_ scale: VideoScale) -> Bool {
        guard scale.isValid, let composition = pipelines.composition else { return false }
        change { state in
            state.videoScale = scale
            composition.animate(to: scale)
            notify(.videoScaleChanged(scale), &state)
        }
        return true
    }
}
