/// Creates clients (Phenix: `PhenixPCastFactory`).
public enum PhenixPCastFactory {
    /// Returns a client of the platform in the authentication token.
    public static func createPCast() -> PhenixPCast! { PhenixPCast(uri: nil) }

    /// Returns a client of the platform with this address; nil for the one in the authentication token.
    public static func createPCast(_ pcastUri: String!) -> PhenixPCast! { PhenixPCast(uri: pcastUri) }
}
