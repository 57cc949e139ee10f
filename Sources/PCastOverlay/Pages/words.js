// The texts of the example overlay by language. A further entry adds a language.
export const words = {
  en: {
    name: "English", play: "Play", pause: "Pause", back: "Back 10 seconds", ahead: "Forward 10 seconds", live: "Live",
    mute: "Mute", unmute: "Unmute", volume: "Volume", speed: "Speed", seek: "Position", language: "Language",
    squeeze: "Make room beside the video", events: "Events", none: "No events yet.",
    playing: "Playing", paused: "Paused", seeking: "Seeking", stopped: "Stopped", buffering: "Loading",
    waiting: "Waiting for the player", lost: "The connection was lost; trying again", over: "This overlay has ended.",
    watching: "Watching only", home: "Home", away: "Away",
    kinds: { goal: "Goal", card: "Card", substitution: "Substitution", period: "Period", chapter: "Chapter", penalty: "Penalty",
      penalty_shot: "Penalty shot", period_start: "Period begins", period_end: "Period ends", overtime_start: "Overtime begins",
      overtime_end: "Overtime ends", shootout_start: "Shootout begins", shootout_end: "Shootout ends", break_start: "Break",
      break_end: "Break is over", event: "Event" },
  },
  de: {
    name: "Deutsch", play: "Abspielen", pause: "Anhalten", back: "10 Sekunden zurück", ahead: "10 Sekunden vor",
    live: "Live", mute: "Ton aus", unmute: "Ton an", volume: "Lautstärke", speed: "Tempo", seek: "Stelle",
    language: "Sprache", squeeze: "Platz neben dem Bild", events: "Ereignisse", none: "Noch keine Ereignisse.",
    playing: "Läuft", paused: "Angehalten", seeking: "Sucht", stopped: "Beendet", buffering: "Lädt",
    waiting: "Wartet auf den Player", lost: "Die Verbindung ist weg; neuer Versuch", over: "Dieses Overlay ist beendet.",
    watching: "Nur zusehen", home: "Heim", away: "Gast",
    kinds: { goal: "Tor", card: "Karte", substitution: "Wechsel", period: "Abschnitt", chapter: "Kapitel", penalty: "Strafe",
      penalty_shot: "Penalty", period_start: "Anpfiff", period_end: "Abpfiff", overtime_start: "Verlängerung",
      overtime_end: "Ende der Verlängerung", shootout_start: "Penaltyschießen", shootout_end: "Ende des Penaltyschießens",
      break_start: "Pause", break_end: "Pause vorbei", event: "Ereignis" },
  },
  es: {
    name: "Español", play: "Reproducir", pause: "Pausar", back: "10 segundos atrás", ahead: "10 segundos adelante",
    live: "En vivo", mute: "Silenciar", unmute: "Activar el sonido", volume: "Volumen", speed: "Velocidad",
    seek: "Posición", language: "Idioma", squeeze: "Hacer sitio junto a la imagen", events: "Eventos",
    none: "Todavía no hay eventos.", playing: "En marcha", paused: "En pausa", seeking: "Buscando",
    stopped: "Parado", buffering: "Cargando", waiting: "Esperando al reproductor",
    lost: "Se perdió la conexión; probando otra vez", over: "Este overlay ha terminado.", watching: "Solo mirar",
    home: "Local", away: "Visitante",
    kinds: { goal: "Gol", card: "Tarjeta", substitution: "Cambio", period: "Periodo", chapter: "Capítulo", penalty: "Penalización",
      penalty_shot: "Tiro penal", period_start: "Empieza el periodo", period_end: "Acaba el periodo",
      overtime_start: "Prórroga", overtime_end: "Acaba la prórroga", shootout_start: "Tanda de penaltis",
      shootout_end: "Acaba la tanda", break_start: "Descanso", break_end: "Acaba el descanso", event: "Suceso" },
  },
};

export const languages = Object.keys(words);
