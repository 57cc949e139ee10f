/// Video or audio (Phenix: `PhenixMediaType`).
public enum MediaType: String, Sendable, CaseIterable, Encodable {
    case video
    case audio
}
