internal import PCastCodecs

extension ContentItem {
    /// Creates an item from a decoded sample; nil for metadata.
    init?(_ sample: PresentationSample) {
        switch sample {
        case .frame(let frame, let position, let duration):
            self = .frame(frame, at: position, duration: duration)
        case .audio(let audio, let position): self = .audio(audio, at: position)
        case .text(let text, let range): self = .subtitle(text, range)
        case .metadata: return nil
        }
    }
}
