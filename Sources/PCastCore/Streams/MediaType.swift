/// The kind of media (Phenix: `PhenixMediaType`).
public enum MediaType: String, Sendable, CaseIterable, Encodable {
    case video
    case audio
}
