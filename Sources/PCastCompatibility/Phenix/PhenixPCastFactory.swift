/// Makes clients (Phenix: `PhenixPCastFactory`).
public enum PhenixPCastFactory {
    /// Of the platform that the authentication token names.
    public static func createPCast() -> PhenixPCast! { PhenixPCast(uri: nil) }

    public static func createPCast(_ pcastUri: String!) -> PhenixPCast! { PhenixPCast(uri: pcastUri) }
}
