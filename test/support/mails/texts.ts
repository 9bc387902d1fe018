/** Typical texts, with the charsets that mail programs use for them. */
export interface Text {
  name: string;
  subject: string;
  lines: string[];
  charsets: string[];
}

export const TEXTS: Text[] = [
  {
    name: "Ann Lee",
    subject: "Lunch on Friday?",
    lines: ["Are you free on Friday?", "The place at the corner, at noon."],
    charsets: ["us-ascii", "utf-8", "iso-8859-1"],
  },
  {
    name: "Jürgen Groß",
    subject: "Rückfrage zur Lieferung über die Brücke",
    lines: ["Grüße aus Köln,", "die Straße ist gesperrt: bitte später liefern."],
    charsets: ["utf-8", "iso-8859-1", "iso-8859-15", "windows-1252"],
  },
  {
    name: "Zoë Lefèvre",
    subject: "Réunion déplacée à la mi-août",
    lines: ["Ça va ? La réunion est déplacée.", "À bientôt, Zoë"],
    charsets: ["utf-8", "iso-8859-1", "windows-1252"],
  },
  {
    name: "Łukasz Żak",
    subject: "Faktura za wrzesień – zaległość",
    lines: ["Proszę o zapłatę zaległej faktury.", "Pozdrawiam, Łukasz"],
    charsets: ["utf-8", "windows-1250"],
  },
  {
    name: "Иван Петров",
    subject: "Отчёт за третий квартал и планы на следующий год",
    lines: ["Добрый день!", "Отчёт во вложении, посмотрите до пятницы."],
    charsets: ["utf-8", "koi8-r", "windows-1251", "iso-8859-5"],
  },
  {
    name: "Ελένη Παππά",
    subject: "Παραγγελία έτοιμη για παραλαβή",
    lines: ["Καλημέρα σας,", "η παραγγελία σας είναι έτοιμη."],
    charsets: ["utf-8", "iso-8859-7", "windows-1253"],
  },
  {
    name: "Gülşah Yılmaz",
    subject: "Toplantı saati değişti",
    lines: ["Merhaba,", "toplantı saat on birde, üçüncü katta olacak."],
    charsets: ["utf-8", "iso-8859-9", "windows-1254"],
  },
  {
    name: "דנה כהן",
    subject: "הזמנה לפגישה",
    lines: ["שלום רב,", "הפגישה ביום שלישי."],
    charsets: ["utf-8", "windows-1255", "iso-8859-8"],
  },
  {
    name: "سارة أحمد",
    subject: "فاتورة جديدة",
    lines: ["مرحبا،", "الفاتورة جاهزة."],
    charsets: ["utf-8", "windows-1256"],
  },
  {
    name: "สมชาย ใจดี",
    subject: "ใบเสร็จรับเงิน",
    lines: ["สวัสดีครับ", "ใบเสร็จอยู่ในไฟล์แนบ"],
    charsets: ["utf-8", "tis-620", "windows-874"],
  },
  {
    name: "王小明",
    subject: "第三季度报告已经完成",
    lines: ["您好，", "报告已经完成，请在星期五之前查看。"],
    charsets: ["utf-8", "gb2312", "gbk", "gb18030"],
  },
  {
    name: "陳大文",
    subject: "會議時間變更通知",
    lines: ["您好，", "會議改到下午三點。"],
    charsets: ["utf-8", "big5"],
  },
  {
    name: "山田太郎",
    subject: "請求書の送付について（十一月分のご確認のお願い）",
    lines: ["お世話になっております。", "請求書をお送りします。"],
    charsets: ["utf-8", "shift_jis", "euc-jp", "iso-2022-jp"],
  },
  {
    name: "김철수",
    subject: "회의 일정 변경 안내",
    lines: ["안녕하세요.", "회의가 오후 세 시로 변경되었습니다."],
    charsets: ["utf-8", "euc-kr", "ks_c_5601-1987"],
  },
  {
    name: "Mia 🌻",
    subject: "Release 🚀 is out — “finally”",
    lines: ["We did it 🎉", "Family: 👩‍👩‍👧‍👦, flag: 🇳🇿."],
    charsets: ["utf-8"],
  },
];
